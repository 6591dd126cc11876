"""Avro schemas and their catalogue, the codec, and the models of the protocols."""

from schemas.canonical import (
    canonical_json,
    has_lone_surrogate,
    parse_ijson,
    sha256_hex,
    uuid5_url,
)
from schemas.catalogue import CATALOGUE, Catalogue, SchemaEntry
from schemas.codec import (
    AvroBody,
    Decoded,
    Ids,
    Undecodable,
    Unencodable,
    committed_id,
    decode,
    decode_many,
    encode,
    encode_many,
    use_ids,
    written_id,
)
from schemas.json_mapping.avro_form import from_json
from schemas.json_mapping.json_form import to_json
from schemas.kinds import KINDS, validate
from schemas.problems import Problem, ShapeError

__distribution__ = "headrace"
__all__ = [
    "CATALOGUE",
    "KINDS",
    "AvroBody",
    "Catalogue",
    "Decoded",
    "Ids",
    "Problem",
    "SchemaEntry",
    "ShapeError",
    "Undecodable",
    "Unencodable",
    "canonical_json",
    "committed_id",
    "decode",
    "decode_many",
    "encode",
    "encode_many",
    "from_json",
    "has_lone_surrogate",
    "parse_ijson",
    "sha256_hex",
    "to_json",
    "use_ids",
    "uuid5_url",
    "validate",
    "written_id",
]

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
    RegistryIds,
    Undecodable,
    Unencodable,
    catalogue_id_of,
    decode,
    decode_many,
    encode,
    encode_many,
    framing_id,
    use_ids,
)
from schemas.json_mapping.avro_form import from_json
from schemas.json_mapping.json_form import to_json
from schemas.kinds import KINDS, validate
from schemas.problems import Problem, ShapeError

__all__ = [
    "CATALOGUE",
    "KINDS",
    "AvroBody",
    "Catalogue",
    "Decoded",
    "Problem",
    "RegistryIds",
    "SchemaEntry",
    "ShapeError",
    "Undecodable",
    "Unencodable",
    "canonical_json",
    "catalogue_id_of",
    "decode",
    "decode_many",
    "encode",
    "encode_many",
    "framing_id",
    "from_json",
    "has_lone_surrogate",
    "parse_ijson",
    "sha256_hex",
    "to_json",
    "use_ids",
    "uuid5_url",
    "validate",
]

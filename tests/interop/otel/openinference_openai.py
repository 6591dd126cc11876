"""Call a model by OpenAI's client, under OpenInference.  Argument: the address of the API."""

import sys

from openai import OpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from tracing import make_provider

provider = make_provider()
OpenAIInstrumentor().instrument(tracer_provider=provider)
client = OpenAI(base_url=sys.argv[1], api_key="sk-none")
with using_session("sess-openai"):
    client.chat.completions.create(
        model="example-1", messages=[{"role": "user", "content": "Weather in Tallinn?"}]
    )
provider.shutdown()

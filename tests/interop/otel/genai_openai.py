"""Call a model by OpenAI's client, instrumented by OpenTelemetry.  Argument: the API's address."""

import sys

from openai import OpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from tracing import make_provider

provider = make_provider()
OpenAIInstrumentor().instrument(tracer_provider=provider)
client = OpenAI(base_url=sys.argv[1], api_key="sk-none")
client.chat.completions.create(
    model="example-1", messages=[{"role": "user", "content": "Weather in Tallinn?"}]
)
provider.shutdown()

"""Run the agent of LangChain, instrumented with OpenLLMetry."""

from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from tracing import make_provider

provider = make_provider()
LangchainInstrumentor().instrument(tracer_provider=provider)

from agent import run  # noqa: E402

run()
provider.shutdown()

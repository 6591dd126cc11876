"""Run the agent of LangChain, instrumented with OpenInference."""

from openinference.instrumentation.langchain import LangChainInstrumentor
from tracing import make_provider

provider = make_provider()
LangChainInstrumentor().instrument(tracer_provider=provider)

from agent import run  # noqa: E402

run()
provider.shutdown()

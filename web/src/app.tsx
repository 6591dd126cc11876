import { ErrorBoundary, LocationProvider, lazy, Route, Router } from "preact-iso";
import { Shell } from "./parts/shell";
import { noteWaiting } from "./state/ready";

const pages = {
  overview: lazy(() => import("./pages/overview")),
  verdicts: lazy(() => import("./pages/verdicts")),
  agents: lazy(() => import("./pages/agents")),
  protocol: lazy(() => import("./pages/protocol")),
  thing: lazy(() => import("./pages/thing")),
  record: lazy(() => import("./pages/record")),
  log: lazy(() => import("./pages/log")),
  notFound: lazy(() => import("./pages/not_found")),
};

export function App() {
  return (
    <LocationProvider scope="/console">
      <Shell>
        <ErrorBoundary>
          <Router onRouteChange={noteWaiting}>
            <Route path="/console" component={pages.overview} />
            <Route path="/console/verdicts" component={pages.verdicts} />
            <Route path="/console/agents" component={pages.agents} />
            <Route path="/console/apc" component={pages.protocol} protocol="apc" />
            <Route path="/console/sap" component={pages.protocol} protocol="sap" />
            <Route path="/console/asap" component={pages.protocol} protocol="asap" />
            <Route path="/console/summit" component={pages.protocol} protocol="summit" />
            <Route path="/console/saop" component={pages.protocol} protocol="saop" />
            <Route path="/console/things/:node" component={pages.thing} />
            <Route path="/console/records/:topic/:partition/:offset" component={pages.record} />
            <Route path="/console/log" component={pages.log} />
            <Route default component={pages.notFound} />
          </Router>
        </ErrorBoundary>
      </Shell>
    </LocationProvider>
  );
}

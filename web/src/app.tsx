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
  trace: lazy(() => import("./pages/trace")),
  live: lazy(() => import("./pages/live")),
  lineage: lazy(() => import("./pages/lineage")),
  spread: lazy(() => import("./pages/spread")),
  deadLetters: lazy(() => import("./pages/dead_letters")),
  audit: lazy(() => import("./pages/audit")),
  log: lazy(() => import("./pages/log")),
  savedViews: lazy(() => import("./pages/saved_views")),
  signIn: lazy(() => import("./pages/sign_in")),
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
            <Route path="/console/traces/:id" component={pages.trace} />
            <Route path="/console/live" component={pages.live} />
            <Route path="/console/lineage" component={pages.lineage} />
            <Route path="/console/spread" component={pages.spread} />
            <Route path="/console/dead-letters" component={pages.deadLetters} />
            <Route path="/console/audit" component={pages.audit} />
            <Route path="/console/log" component={pages.log} />
            <Route path="/console/saved-views" component={pages.savedViews} />
            <Route path="/console/sign-in" component={pages.signIn} />
            <Route default component={pages.notFound} />
          </Router>
        </ErrorBoundary>
      </Shell>
    </LocationProvider>
  );
}

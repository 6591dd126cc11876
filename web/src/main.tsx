import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";
import { render } from "preact";
import { App } from "./app";
import { startClock } from "./state/clock";
import { startService } from "./state/service";
import { applyTheme } from "./state/theme";

applyTheme();
startClock();
startService();
const root = document.getElementById("app");
if (root) render(<App />, root);

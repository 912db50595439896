import htmx from "htmx.org";
import { enableCopyButtons } from "./copy";
import { followEvaluation } from "./live";
import { enableThemeToggle } from "./toggle";
import "./styles/app.css";

// Under the Content-Security-Policy htmx may neither evaluate expressions nor add its own style element.
htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.selfRequestsOnly = true;
htmx.config.historyCacheSize = 0;
htmx.config.scrollIntoViewOnBoost = false;

enableThemeToggle();
enableCopyButtons();
followEvaluation();

import htmx from "htmx.org";
import { addCopyButtons, enableCopyButtons } from "./copy";
import { checkAsOneTypes } from "./checking";
import { moveBetweenCells } from "./cells";
import { enableFolding } from "./folding";
import { followEvaluation } from "./live";
import { Palette } from "./palette";
import { enableShortcuts } from "./shortcuts";
import { showCurrentTabs } from "./tabs";
import { enableThemeToggle } from "./toggle";
import "./styles/app.css";

// Under the Content-Security-Policy htmx may neither evaluate expressions nor add its own style element.
htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.selfRequestsOnly = true;
// Going back loads the page anew: it is quick, always true, and starts the islands again.
htmx.config.historyCacheSize = 0;
htmx.config.refreshOnHistoryMiss = true;
htmx.config.scrollIntoViewOnBoost = false;

enableThemeToggle();
addCopyButtons();
enableCopyButtons();
enableFolding();
enableShortcuts(Palette.find());
followEvaluation();
showCurrentTabs();
checkAsOneTypes();
moveBetweenCells();

import htmx from "htmx.org";
import { addCopyButtons, enableCopyButtons } from "./copy";
import { checkAsOneTypes } from "./checking";
import { moveBetweenCells } from "./cells";
import { enableFolding } from "./folding";
import { followEvaluation } from "./live";
import { Palette } from "./palette";
import { enableShortcuts } from "./shortcuts";
import { followSounds } from "./sounds";
import { showChosenStrategy } from "./strategies";
import { showCurrentTabs } from "./tabs";
import { enableThemeToggle } from "./toggle";
import { watchPlan } from "./watch";
import { pointAtPictures } from "./pointing";
import { followRun } from "./workbench";
import "./styles/app.css";

// The Content-Security-Policy forbids htmx to evaluate expressions or to add a style element.
htmx.config.allowEval = false;
htmx.config.includeIndicatorStyles = false;
htmx.config.selfRequestsOnly = true;
// Going back reloads the page, which is fast, up to date, and restarts the scripts.
htmx.config.historyCacheSize = 0;
htmx.config.refreshOnHistoryMiss = true;
htmx.config.scrollIntoViewOnBoost = false;

enableThemeToggle();
addCopyButtons();
enableCopyButtons();
enableFolding();
enableShortcuts(Palette.find());
followEvaluation();
watchPlan();
followRun();
pointAtPictures();
showCurrentTabs();
checkAsOneTypes();
showChosenStrategy();
moveBetweenCells();
followSounds();

/** Show in a waveform how far its sound has played, and start the clip of a film together with its sound. */
export function followSounds(): void {
  for (const kind of ["play", "timeupdate", "ended", "pause"]) {
    // Media events do not bubble.
    document.addEventListener(kind, follow, { capture: true });
  }
}

function follow(event: Event): void {
  const player = event.target;
  if (!(player instanceof HTMLAudioElement)) return;
  const figure = player.closest(".artefact");
  const waveform = figure?.querySelector<SVGSVGElement>(".waveform");
  const line = waveform?.querySelector<SVGLineElement>(".played");
  if (waveform && line) {
    const share = player.duration > 0 ? player.currentTime / player.duration : 0;
    const place = String(share * waveform.viewBox.baseVal.width);
    line.setAttribute("x1", place);
    line.setAttribute("x2", place);
    waveform.classList.toggle("is-playing", !player.paused);
  }
  const film = figure?.querySelector<HTMLImageElement>("img[data-film]");
  // A picture that is loaded again shows its first frame.
  if (film && event.type === "play" && player.currentTime === 0) film.src = film.src;
}

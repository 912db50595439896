const STEP_FAR = 10;
const RING = 7;
/** Least distance of two places of a stroke, in shares of the larger side. */
const STROKE_STEP = 1 / 48;
const MOST_STROKE = 64;
const MOST_POINTS = 3;

type Place = readonly [number, number];

interface Fields {
  picture: HTMLInputElement | HTMLSelectElement;
  kind: HTMLSelectElement;
  at: HTMLInputElement;
}

/** Draw the picture below the fields of a mark: pointer or keys place points, a box or a stroke in it. */
export function pointAtPictures(): void {
  document.querySelectorAll<HTMLElement>("[data-pointing]:not([data-draws])").forEach((box) => {
    const picture = box.querySelector<HTMLInputElement | HTMLSelectElement>("[name=mark_picture]");
    const kind = box.querySelector<HTMLSelectElement>("[name=mark_kind]");
    const at = box.querySelector<HTMLInputElement>("[name=mark_at]");
    if (picture === null || kind === null || at === null) return;
    box.dataset["draws"] = "";
    new Pointing(box, { picture, kind, at }).follow();
  });
}

/** The places that a field has, such as `12,30; 40,8`. Whatever is none is left out. */
export function placesIn(text: string): Place[] {
  return text
    .split(";")
    .map((pair) => /^\s*(\d{1,5})\s*,\s*(\d{1,5})\s*$/.exec(pair))
    .flatMap((found) => (found === null ? [] : [[Number(found[1]), Number(found[2])] as const]));
}

class Pointing {
  private readonly canvas = document.createElement("canvas");
  private image: ImageBitmap | undefined;
  private latest = 0;
  private cursor: Place | undefined;
  private drags = false;

  constructor(
    private readonly box: HTMLElement,
    private readonly fields: Fields,
  ) {
    this.canvas.tabIndex = 0;
    this.canvas.hidden = true;
    this.canvas.className = "pointing-picture";
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute(
      "aria-label",
      "Picture: arrow keys move the cross, Enter places a point, a corner or the next place of a stroke, Delete removes the mark",
    );
  }

  follow(): void {
    const { picture, kind, at } = this.fields;
    this.box.append(this.canvas);
    const files = this.files();
    (files ?? picture).addEventListener("change", () => void this.load());
    if (files !== null) picture.addEventListener("change", () => void this.load());
    at.addEventListener("input", () => this.draw());
    kind.addEventListener("change", () => this.put([]));
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.canvas.addEventListener(end, () => (this.drags = false));
    }
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    void this.load();
  }

  /** The input of the files among which the picture is; null where the pictures are those of an earlier request. */
  private files(): HTMLInputElement | null {
    if (this.fields.picture instanceof HTMLSelectElement) return null;
    return this.box.closest("form")?.querySelector<HTMLInputElement>("input[type=file]") ?? null;
  }

  private async load(): Promise<void> {
    const turn = ++this.latest;
    const image = await this.chosen().catch(() => undefined);
    // Another picture may have been chosen meanwhile.
    if (turn !== this.latest) return;
    this.image = image;
    this.cursor = undefined;
    this.canvas.hidden = image === undefined;
    if (image !== undefined) [this.canvas.width, this.canvas.height] = this.size(image);
    this.draw();
  }

  /** The size in which places are counted: large pictures are shown scaled down. */
  private size(image: ImageBitmap): [number, number] {
    const { picture } = this.fields;
    const given = picture instanceof HTMLSelectElement ? picture.selectedOptions[0]?.dataset : undefined;
    return [Number(given?.["width"] ?? image.width), Number(given?.["height"] ?? image.height)];
  }

  private async chosen(): Promise<ImageBitmap | undefined> {
    const { picture } = this.fields;
    if (picture instanceof HTMLSelectElement) {
      const source = picture.selectedOptions[0]?.dataset["source"];
      return source === undefined ? undefined : createImageBitmap(await (await fetch(source)).blob());
    }
    const files = Array.from(this.files()?.files ?? []).filter((file) => file.type.startsWith("image/"));
    const file = files.find((one) => one.name === picture.value) ?? files[0];
    return file === undefined ? undefined : createImageBitmap(file);
  }

  private within(x: number, y: number): Place {
    const side = (value: number, size: number): number => Math.max(0, Math.min(size - 1, Math.floor(value)));
    return [side(x, this.canvas.width), side(y, this.canvas.height)];
  }

  private under(event: PointerEvent): Place {
    const shown = this.canvas.getBoundingClientRect();
    return this.within(
      ((event.clientX - shown.left) / shown.width) * this.canvas.width,
      ((event.clientY - shown.top) / shown.height) * this.canvas.height,
    );
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const place = this.under(event);
    this.cursor = place;
    if (this.fields.kind.value === "point") {
      // With Shift one more point on the same thing.
      this.put(event.shiftKey ? [...this.places(), place].slice(-MOST_POINTS) : [place]);
      return;
    }
    this.drags = true;
    this.canvas.setPointerCapture(event.pointerId);
    this.put([place]);
  }

  private move(event: PointerEvent): void {
    if (!this.drags) return;
    const place = this.under(event);
    const places = this.places();
    const [first, last] = [places[0], places.at(-1)];
    this.cursor = place;
    if (first === undefined || last === undefined) return;
    if (this.fields.kind.value === "box") {
      this.put([first, place]);
    } else {
      const far = Math.max(1, STROKE_STEP * Math.max(this.canvas.width, this.canvas.height));
      if (Math.hypot(place[0] - last[0], place[1] - last[1]) >= far && places.length < MOST_STROKE) {
        this.put([...places, place]);
      }
    }
  }

  private key(event: KeyboardEvent): void {
    const step = event.shiftKey ? STEP_FAR : 1;
    const moves: Record<string, Place> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, -step],
      ArrowDown: [0, step],
    };
    const move = moves[event.key];
    const places = this.places();
    const from = this.cursor ?? places.at(-1) ?? [this.canvas.width / 2, this.canvas.height / 2];
    if (event.key === "Delete" || event.key === "Backspace") {
      this.put([]);
    } else if (event.key === "Enter" || event.key === " ") {
      this.cursor = this.within(from[0], from[1]);
      this.put(this.extended(places, this.cursor));
    } else if (move !== undefined) {
      this.cursor = this.within(from[0] + move[0], from[1] + move[1]);
      // A single point goes with the cross, so that the arrow keys alone are enough.
      if (this.fields.kind.value === "point" && places.length < 2) this.put([this.cursor]);
      else this.draw();
    } else {
      return;
    }
    event.preventDefault();
  }

  private extended(places: Place[], place: Place): Place[] {
    const most = { box: 2, stroke: MOST_STROKE }[this.fields.kind.value] ?? MOST_POINTS;
    // A third corner begins another box.
    return places.length < most ? [...places, place] : this.fields.kind.value === "box" ? [place] : places;
  }

  private places(): Place[] {
    return placesIn(this.fields.at.value);
  }

  private put(places: readonly Place[]): void {
    this.fields.at.value = places.map(([x, y]) => `${x},${y}`).join("; ");
    this.draw();
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    if (context === null || this.image === undefined) return;
    context.drawImage(this.image, 0, 0, this.canvas.width, this.canvas.height);
    const unit = Math.max(this.canvas.width, this.canvas.height) / 160;
    // Dark below light, so that it is seen on any picture.
    for (const [colour, width] of [["#000", 3 * unit], ["#fff", 1.2 * unit]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      this.trace(context, RING * unit);
      context.stroke();
    }
  }

  /** The path of the mark, and of the cross of the keyboard. */
  private trace(context: CanvasRenderingContext2D, ring: number): void {
    const places = this.places().map(([x, y]): Place => [x + 0.5, y + 0.5]);
    const [first, last] = [places[0], places.at(-1)];
    const crosses = this.fields.kind.value === "point" ? places : [];
    if (this.cursor !== undefined) crosses.push([this.cursor[0] + 0.5, this.cursor[1] + 0.5]);
    for (const [x, y] of crosses) {
      context.moveTo(x - ring, y);
      context.lineTo(x + ring, y);
      context.moveTo(x, y - ring);
      context.lineTo(x, y + ring);
    }
    if (this.fields.kind.value === "point") {
      for (const [x, y] of places) {
        context.moveTo(x + ring, y);
        context.arc(x, y, ring, 0, 2 * Math.PI);
      }
    } else if (this.fields.kind.value === "box" && first !== undefined && last !== undefined) {
      context.rect(first[0], first[1], last[0] - first[0], last[1] - first[1]);
    } else {
      places.forEach(([x, y], number) => (number === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    }
  }
}

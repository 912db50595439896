const STEP_FAR = 10;
const RING = 7;

interface Fields {
  picture: HTMLInputElement | HTMLSelectElement;
  x: HTMLInputElement;
  y: HTMLInputElement;
}

/** Draw the picture below the number fields of a point: a click, or the arrow keys, move the mark. */
export function pointAtPictures(): void {
  document.querySelectorAll<HTMLElement>("[data-pointing]:not([data-draws])").forEach((box) => {
    const picture = box.querySelector<HTMLInputElement | HTMLSelectElement>("[name=point_picture]");
    const x = box.querySelector<HTMLInputElement>("[name=point_x]");
    const y = box.querySelector<HTMLInputElement>("[name=point_y]");
    if (picture === null || x === null || y === null) return;
    box.dataset["draws"] = "";
    new Pointing(box, { picture, x, y }).follow();
  });
}

class Pointing {
  private readonly canvas = document.createElement("canvas");
  private image: ImageBitmap | undefined;
  private latest = 0;

  constructor(
    private readonly box: HTMLElement,
    private readonly fields: Fields,
  ) {
    this.canvas.tabIndex = 0;
    this.canvas.hidden = true;
    this.canvas.className = "pointing-picture";
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Picture: arrow keys move the mark, Delete removes it");
  }

  follow(): void {
    const { picture, x, y } = this.fields;
    this.box.append(this.canvas);
    const files = this.files();
    (files ?? picture).addEventListener("change", () => void this.load());
    if (files !== null) picture.addEventListener("change", () => void this.load());
    for (const field of [x, y]) field.addEventListener("input", () => this.draw());
    this.canvas.addEventListener("click", (event) => {
      const shown = this.canvas.getBoundingClientRect();
      this.place(
        ((event.clientX - shown.left) / shown.width) * this.canvas.width,
        ((event.clientY - shown.top) / shown.height) * this.canvas.height,
      );
    });
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

  private place(x: number, y: number): void {
    const within = (side: number, size: number): string => String(Math.max(0, Math.min(size - 1, Math.floor(side))));
    this.fields.x.value = within(x, this.canvas.width);
    this.fields.y.value = within(y, this.canvas.height);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const step = event.shiftKey ? STEP_FAR : 1;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, -step],
      ArrowDown: [0, step],
    };
    const move = moves[event.key];
    const { x, y } = this.fields;
    if (event.key === "Delete" || event.key === "Backspace") {
      x.value = y.value = "";
      this.draw();
    } else if (move !== undefined) {
      const from = x.value === "" ? [this.canvas.width / 2, this.canvas.height / 2] : [Number(x.value), Number(y.value)];
      this.place((from[0] ?? 0) + move[0], (from[1] ?? 0) + move[1]);
    } else {
      return;
    }
    event.preventDefault();
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    if (context === null || this.image === undefined) return;
    context.drawImage(this.image, 0, 0, this.canvas.width, this.canvas.height);
    const { x, y } = this.fields;
    if (x.value === "" || y.value === "") return;
    const [column, row] = [Number(x.value) + 0.5, Number(y.value) + 0.5];
    const unit = Math.max(this.canvas.width, this.canvas.height) / 160;
    // Dark below light, so that it is seen on any picture.
    for (const [colour, width] of [["#000", 3 * unit], ["#fff", 1.2 * unit]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(column, row, RING * unit, 0, 2 * Math.PI);
      context.moveTo(column - RING * unit, row);
      context.lineTo(column + RING * unit, row);
      context.moveTo(column, row - RING * unit);
      context.lineTo(column, row + RING * unit);
      context.stroke();
    }
  }
}

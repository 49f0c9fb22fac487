"""Generated images for the demo newsroom: a port at dusk, seagrass, lanterns at night."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from random import Random

from PIL import Image as PillowImage, ImageDraw, ImageFilter, ImageOps

SIZE = WIDTH, HEIGHT = 1200, 800


def painted(scene: str) -> bytes:
    """The image of a scene as a JPEG file, always the same."""
    file = io.BytesIO()
    SCENES[scene](Random(scene)).save(file, "JPEG", quality=88)  # noqa: S311 (not for security)
    return file.getvalue()


def _sky(top: str, bottom: str) -> PillowImage.Image:
    return ImageOps.colorize(PillowImage.linear_gradient("L").resize(SIZE), top, bottom)


def _glow(image: PillowImage.Image, x: float, y: float, radius: float, colour: str) -> None:
    """Draw a light and its halo."""
    halo = PillowImage.new("L", SIZE, 0)
    ImageDraw.Draw(halo).circle((x, y), radius * 2.2, 150)
    image.paste(colour, mask=halo.filter(ImageFilter.BoxBlur(radius)))
    ImageDraw.Draw(image).circle((x, y), radius, colour)


def _port(dice: Random) -> PillowImage.Image:
    image = _sky("#2b2d5b", "#f4a259")
    _glow(image, 860, 470, 60, "#ffd9a0")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 520, WIDTH, HEIGHT), "#3a3f63")
    for _wave in range(90):
        x, y = dice.uniform(0, WIDTH), dice.uniform(530, HEIGHT)
        draw.line((x, y, x + dice.uniform(20, 120), y), "#c98d6a" if abs(x - 840) < 120 else "#4a5078", 3)
    for x in (90, 330, 600):
        _crane(draw, x, dice.uniform(0.85, 1.1))
    for number in range(26):
        x, y = 20 + number % 13 * 62, 560 - number // 13 * 34
        colour = dice.choice(["#c8553d", "#588b8b", "#f28f3b", "#e8dcc0", "#2d5d7b"])
        draw.rectangle((x, y, x + 58, y + 30), colour, "#1c1e3a")
    return image


def _crane(draw: ImageDraw.ImageDraw, x: float, scale: float) -> None:
    """Draw a crane of a container port."""
    ink, top = "#1c1e3a", 560 - 330 * scale
    for leg in (0, 90):
        draw.line((x + leg, 560, x + leg * 0.8 + 10, top + 60), ink, 12)
    draw.line((x - 60, top + 60, x + 260 * scale, top + 60), ink, 14)
    draw.line((x + 45, top - 40, x + 45, top + 60), ink, 10)
    draw.line((x + 45, top - 40, x + 230 * scale, top + 60), ink, 4)
    draw.line((x + 170 * scale, top + 60, x + 170 * scale, top + 160), ink, 3)


def _seagrass(dice: Random) -> PillowImage.Image:
    image = _sky("#8fd6c8", "#0b3b4f")
    rays = PillowImage.new("L", SIZE, 0)
    for x in range(-200, WIDTH, 190):
        ImageDraw.Draw(rays).polygon([(x + 120, 0), (x + 190, 0), (x + 480, HEIGHT), (x + 250, HEIGHT)], 46)
    image.paste("#f2fff6", mask=rays.filter(ImageFilter.BoxBlur(24)))
    draw = ImageDraw.Draw(image)
    for _blade in range(170):
        foot, height, lean = dice.uniform(-20, WIDTH), dice.uniform(160, 470), dice.uniform(-70, 70)
        colour = dice.choice(["#1e6b52", "#2f8f5b", "#14513f", "#5fb36a"])
        points = [(foot + lean * (transition / 10) ** 2, HEIGHT - height * transition / 10) for transition in range(11)]
        draw.line(points, colour, dice.randint(5, 12), joint="curve")
    for x, y, size in ((300, 250, 30), (390, 300, 22), (470, 235, 26), (880, 330, 34)):
        draw.ellipse((x - size * 1.6, y - size * 0.6, x + size * 1.6, y + size * 0.6), "#e9c46a")
        draw.polygon(
            [(x - size * 1.3, y), (x - size * 2.3, y - size * 0.7), (x - size * 2.3, y + size * 0.7)], "#e9c46a"
        )
    return image


def _lanterns(dice: Random) -> PillowImage.Image:
    image = _sky("#0d1030", "#4a2545")
    draw = ImageDraw.Draw(image)
    for number in range(9):
        x, roof = number * 140 - 30, dice.uniform(360, 470)
        draw.rectangle((x, roof, x + 132, HEIGHT), dice.choice(["#1b1838", "#241d43", "#2c1f3f"]))
        for window in range(4):
            lit = dice.random() < 0.6
            draw.rectangle((x + 20 + window % 2 * 60, roof + 40 + window // 2 * 80, x + 50 + window % 2 * 60,
                            roof + 85 + window // 2 * 80), "#f6bd60" if lit else "#15122c")  # fmt: skip
    for row, height in enumerate((150, 260)):
        draw.line([(x, height + 0.0002 * (x - 600) ** 2 * -1 + 70) for x in range(0, WIDTH + 1, 40)], "#0a0a1c", 3)
        for x in range(60 + row * 50, WIDTH, 120):
            _glow(image, x, height + 100 - 0.0002 * (x - 600) ** 2, 24, dice.choice(["#ff6b4a", "#ff8f3f", "#ffb347"]))
    return image


SCENES: Mapping[str, Callable[[Random], PillowImage.Image]] = {
    "port": _port,
    "seagrass": _seagrass,
    "lanterns": _lanterns,
}
"""Scene to its function."""

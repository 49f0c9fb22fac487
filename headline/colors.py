"""The admin's colour palette for unfold."""

from __future__ import annotations

PRIMARY = {
    "50": "oklch(97.7% .013 236.6)",
    "100": "oklch(95.1% .026 236.8)",
    "200": "oklch(90.1% .058 230.9)",
    "300": "oklch(82.8% .111 230.3)",
    "400": "oklch(74.6% .16 232.7)",
    "500": "oklch(60% .145 240)",
    "600": "oklch(50% .134 242.7)",
    "700": "oklch(44.3% .11 240.8)",
    "800": "oklch(39.1% .09 240.9)",
    "900": "oklch(34% .08 242)",
    "950": "oklch(29.3% .066 243.2)",
}

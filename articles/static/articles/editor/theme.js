// Light or dark, as chosen in the admin's menu (django-unfold stores it), before the page is painted.
(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const chosen = () => {
        try {
            return JSON.parse(localStorage.getItem("adminTheme")) || "auto";
        } catch {
            return "auto"; // storage is disabled
        }
    };
    const apply = () => {
        const isDark = chosen() === "dark" || (chosen() === "auto" && dark.matches);
        document.documentElement.classList.toggle("dark", isDark);
    };
    dark.addEventListener("change", apply);
    apply();
})();

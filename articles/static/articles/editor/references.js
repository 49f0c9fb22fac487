// Links and images of pasted HTML that mean nothing outside the program or page they come from.
const OWN = /\bdata-pm-slice=/; // copied in the editor
const READABLE = /^(?:https?:|data:|\/)/i;
const ELSEWHERE = /^(?:#|file:|about:|blob:|cid:)/i; // such as the marks of footnotes
const REDIRECTS = [
    { host: /(?:^|\.)google\.[a-z]{2,3}(?:\.[a-z]{2})?$/, path: "/url", names: ["q", "url"] },
    { host: /\.safelinks\.protection\.outlook\.com$/, path: "/", names: ["url"] },
];
const NAME_LENGTH = 60;

const decoded = (text) => {
    try {
        return decodeURIComponent(text);
    } catch {
        return text; // a lone percent sign
    }
};

const nameOf = (image) => {
    const file = decoded((image.getAttribute("src") || "").replace(/[?#].*$/, "")).split(/[\\/]/).at(-1);
    return ((/\.\w+$/.test(file) && file) || image.alt || file || "img").slice(0, NAME_LENGTH);
};

const addressOf = (href) => {
    try {
        return new URL(href);
    } catch {
        return null;
    }
};

// Where a link leads that goes through a page of its program; "" for other links.
const targetOf = (href) => {
    const address = addressOf(href);
    const redirect = address && REDIRECTS.find(({ host, path }) => host.test(address.hostname) && path === address.pathname);
    const target = redirect?.names.map((name) => address.searchParams.get(name)).find(Boolean) || "";
    return /^(?:https?|mailto):/i.test(target) && addressOf(target) ? target : "";
};

// The HTML with direct links, without dead ones, and the names of the images that it lost.
export const settled = (html) => {
    if (OWN.test(html)) return { html, lost: [] };
    const doc = new DOMParser().parseFromString(html, "text/html");
    const lost = [...doc.querySelectorAll("img")].filter((image) => !READABLE.test(image.getAttribute("src") || ""));
    for (const image of lost) image.remove();
    for (const link of doc.querySelectorAll("a[href]")) {
        const href = link.getAttribute("href");
        if (ELSEWHERE.test(href)) link.replaceWith(...link.childNodes);
        else if (targetOf(href)) link.setAttribute("href", targetOf(href));
    }
    return { html: doc.body.innerHTML, lost: [...new Set(lost.map(nameOf))] };
};

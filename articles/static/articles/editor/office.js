// HTML of Word, LibreOffice and Google Docs without what they add to the text: lists become lists, headings headings.
const NOTHING = "style, meta, link, title, xml, script, [style*='mso-hide:all'], [style*='mso-hide: all']";
const LEVEL = /mso-list:\s*\S+\s+level(\d+)/i;
const ORDERED = /^\s*(\d+|[a-z]{1,4})[.)]/i;
const OFFICE = /urn:schemas-microsoft-com|class="?Mso|mso-|docs-internal-guid|content="?LibreOffice/i;

export const isOffice = (html) => OFFICE.test(html);

const unwrap = (element) => element.replaceWith(...element.childNodes);

const rename = (element, tag) => {
    const renamed = element.ownerDocument.createElement(tag);
    renamed.append(...element.childNodes);
    element.replaceWith(renamed);
};

const removeComments = (doc) => {
    const walker = doc.createTreeWalker(doc, NodeFilter.SHOW_COMMENT);
    const comments = [];
    while (walker.nextNode()) comments.push(walker.currentNode);
    for (const comment of comments) comment.remove();
};

// The mark of a Word list item is text that Word says to ignore.
const takeMark = (item) => {
    const mark = item.querySelector("[style*='mso-list:Ignore'], [style*='mso-list: Ignore']");
    const text = mark?.textContent || "";
    mark?.remove();
    return text;
};

const listFor = (lists, level, isOrdered, item) => {
    while (lists.length > level) lists.pop();
    while (lists.length < level) {
        const list = item.ownerDocument.createElement(isOrdered ? "ol" : "ul");
        const parent = lists.at(-1);
        if (parent) (parent.lastElementChild || parent.appendChild(item.ownerDocument.createElement("li"))).append(list);
        else item.before(list);
        lists.push(list);
    }
    return lists.at(-1);
};

const buildLists = (doc) => {
    const lists = [];
    let last = null;
    for (const item of doc.querySelectorAll("p[style*='mso-list'], h1[style*='mso-list'], h2[style*='mso-list'], h3[style*='mso-list']")) {
        const level = Number(LEVEL.exec(item.getAttribute("style"))?.[1] || 0);
        if (!level || item.tagName !== "P") {
            takeMark(item);
            continue;
        }
        if (!last || last.nextElementSibling !== item) lists.length = 0;
        const list = listFor(lists, level, ORDERED.test(takeMark(item)), item);
        const row = doc.createElement("li");
        list.append(row);
        row.append(...item.childNodes);
        last = lists[0];
        item.remove();
    }
};

const isEmpty = (paragraph) => !paragraph.textContent.replace(/\u00a0/g, " ").trim() && !paragraph.querySelector("img, br, table");

// The cleaned HTML.
export const cleaned = (html) => {
    const doc = new DOMParser().parseFromString(html, "text/html");
    removeComments(doc);
    for (const element of doc.querySelectorAll(NOTHING)) element.remove();
    buildLists(doc);
    for (const title of doc.querySelectorAll("p.MsoTitle")) rename(title, "h2");
    for (const element of [...doc.body.querySelectorAll("*")]) {
        if (element.localName.includes(":")) unwrap(element); // such as o:p
        else for (const name of ["class", "lang", "id"]) element.removeAttribute(name);
    }
    for (const paragraph of doc.querySelectorAll("p")) if (isEmpty(paragraph)) paragraph.remove();
    return doc.body.innerHTML;
};

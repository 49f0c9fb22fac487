// The browser's storage. Where it is full or disabled nothing is stored, and nothing fails.
const storage = (name) => {
    const attempt = (use) => {
        try {
            return use(window[name]);
        } catch {
            return null;
        }
    };
    return {
        get: (key) => attempt((store) => store.getItem(key)),
        set: (key, value) => attempt((store) => store.setItem(key, value)),
        remove: (key) => attempt((store) => store.removeItem(key)),
        keys: () => attempt((store) => Object.keys(store)) || [],
    };
};

export const local = storage("localStorage");
export const session = storage("sessionStorage");

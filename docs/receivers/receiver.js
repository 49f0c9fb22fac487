// Verify a webhook, without dependencies. The names of headers are in lower case, as Node gives them.
const { createHmac, timingSafeEqual } = require("node:crypto");

function receive(secret, body, headers) {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const wanted = createHmac("sha256", key).update(signed).digest();
  const isRecent = Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) < 300;
  const isOurs = headers["webhook-signature"].split(" ").some((one) => {
    const given = Buffer.from(one.replace("v1,", ""), "base64");
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  if (!isRecent || !isOurs) throw new Error("not from the newsroom, or too old");
  return JSON.parse(body);
}

module.exports = { receive };

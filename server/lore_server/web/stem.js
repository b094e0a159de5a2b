// English words without their endings, by the main rules of the stemmer that the keyword index uses: enough to see that
// two words are forms of one. https://snowballstem.org/algorithms/english/stemmer.html

const PLAIN_WORD = /^[a-z]{3,}$/;
const SHORT_WORD = /^(?:[^aeiouy]*[aeiouy][^aeiouywx]|[aeiouy][^aeiouy])$/; // hop, us: hoping and using end in e
const LONG_ENDINGS = /(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic|(?<=[st])ion)$/;

/** The stem of a word in lower case; a word with other letters than a to z, and a short one, is its own stem. */
export function stem(word) {
  if (!PLAIN_WORD.test(word)) return word;
  const plain = withoutTense(withoutPlural(word)).replace(/(.[^aeiou])y$/, "$1i");
  const short = plain.replace(/(?<=[aeiouy][^aeiouy].*)(?:ational|ation|ator)$/, "ate").replace(/(ful|ous|ive)ness$/, "$1").replace(/(?<=.[cdeghkmnrt])li$/, "");
  const whole = withoutLong(short);
  const bare = whole.replace(/e$/, "");
  return (SHORT_WORD.test(bare) ? whole : bare).replace(/([b-df-hj-np-t])\1$/, "$1");
}

function withoutPlural(word) {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[sd]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  return /[aeiouy].+s$/.test(word) && !/(us|ss)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word) {
  const rest = word.replace(/(?:ing|(?<!e)ed)(?:ly)?$/, "");
  if (rest === word || !/[aeiouy]/.test(rest)) return word;
  return /(?:at|bl|iz)$/.test(rest) || SHORT_WORD.test(rest) ? `${rest}e` : rest;
}

/** An ending goes if enough is left of the word: two groups of vowels, each with a consonant after it. */
function withoutLong(word) {
  const [region = ""] = word.match(/(?<=^[^aeiouy]*[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]).*$/) ?? [];
  const [ending = ""] = region.match(LONG_ENDINGS) ?? [];
  return word.slice(0, word.length - ending.length);
}

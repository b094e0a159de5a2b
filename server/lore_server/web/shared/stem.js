// Stem English words with the main rules of the keyword index's stemmer, enough to recognize
// two forms of the same word. https://snowballstem.org/algorithms/english/stemmer.html

const PLAIN_WORD = /^[a-z]{3,}$/;
const SHORT_WORD = /^(?:[^aeiouy]*[aeiouy][^aeiouywx]|[aeiouy][^aeiouy])$/; // hop, us: hoping and using end in e
const LONG_ENDINGS = /(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic|(?<=[st])ion)$/;

/** Return the stem of a lower-case word; short words and words with letters other than a to z stay unchanged. */
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

/** Return whether an ending may be removed: two groups of vowels remain, each followed by a consonant. */
function withoutLong(word) {
  const [region = ""] = word.match(/(?<=^[^aeiouy]*[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]).*$/) ?? [];
  const [ending = ""] = region.match(LONG_ENDINGS) ?? [];
  return word.slice(0, word.length - ending.length);
}

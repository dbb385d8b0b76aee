import { chunks, lifetime, parseMessages, show } from './resp.js'

/**
 * @typedef {{ exchanges: import('./play.js').Exchange[], keys: string[] }} Played
 * @typedef {import('./resp.js').Message} Message
 */

/** Fields of INFO that inkcast reads and that must be equal. */
const INFO = /^(?:redis_version|evicted_keys|role|loading):.*$|^master_replid:.{20}/gm

const NO_LUA = 'ERR Error compiling script'

/** @param {Message} message @returns {string[]} */
const items = (message) => 'items' in message ? message.items.map(show) : [show(message)]

/**
 * What is compared of a reply whose order, or part of whose content, is free.
 * @type {Record<Exclude<import('./commands.js').Unordered, 'unsubscribed'>, (reply: Message) => string>}
 */
const FREE = {
  list: (reply) => 'items' in reply ? items(reply).sort().join() : show(reply),
  pairs: (reply) => 'items' in reply ? chunks(items(reply), 2).map(String).sort().join() : show(reply),
  scan: (reply) => 'items' in reply ? reply.items.map((part) => items(part).sort().join()).join() : show(reply),
  info: (reply) =>
    'text' in reply ? reply.text.startsWith('ERR') ? show(reply) : (reply.text.match(INFO) ?? []).sort().join() : show(reply),
  lifetime,
  hello: (reply) =>
    'items' in reply ? reply.type + items(reply).map((item, i, all) => all[i - 1] === '"id"' ? '' : item).join() : show(reply)
}

/**
 * @param {import('./play.js').Exchange} exchange
 * @returns {string[]} its pushes, then its replies
 */
function normal ({ steps, bytes }) {
  const messages = inAnyOrder(parseMessages(bytes))
  if (steps[0]?.unordered === 'unsubscribed') return unsubscribed(messages)
  const pushes = messages.filter(({ type }) => type === '>').map(show)
  const all = messages.filter(({ type }) => type !== '>')
  // version 2 has no type for pushes; those of other connections' steps come first
  const replies = all.splice(Math.max(0, all.length - steps.length))
  if (replies.length !== steps.length) return [...pushes, ...replies.map(show)]
  return [...pushes, ...all.map(show), ...replies.map((reply, i) => {
    const { unordered } = steps[i]
    // of what is no Lua the store's parser says the same in other words
    if ('text' in reply && reply.text.startsWith(NO_LUA)) return NO_LUA
    return unordered === undefined || unordered === 'unsubscribed' ? show(reply) : FREE[unordered](reply)
  })]
}

/**
 * A message to several patterns of a connection comes once for each, in any order.
 * @param {Message[]} messages
 */
function inAnyOrder (messages) {
  const about = (/** @type {Message} */ message) => items(message)[0] === '"pmessage"' ? items(message).slice(2).join() : ''
  for (let i = 0; i < messages.length;) {
    const same = about(messages[i])
    let end = i + 1
    while (same !== '' && end < messages.length && about(messages[end]) === same) end++
    const sorted = messages.slice(i, end).sort((one, other) => show(one) < show(other) ? -1 : 1)
    messages.splice(i, end - i, ...sorted)
    i = end
  }
  return messages
}

/**
 * The end of all subscriptions: channels in any order.
 * @param {Message[]} messages
 */
function unsubscribed (messages) {
  const words = messages.map((message) => items(message))
  const ends = words.filter(([word]) => /^"[ps]?unsubscribe"$/.test(word))
  const others = words.filter((message) => !ends.includes(message)).map(String)
  return [...others, ...ends.map(([word, channel]) => `${word} ${channel}`).sort(), ends.map(([,, count]) => count).join()]
}

/**
 * @param {Played} one
 * @param {Played} other
 * @returns {{ at: number, lines: string[] } | undefined} undefined: they are equal; at: the exchange that differs, or
 *   their number if the key spaces do
 */
export function difference (one, other) {
  for (const [at, exchange] of one.exchanges.entries()) {
    const another = other.exchanges[at]
    if (exchange.bytes === another.bytes) continue
    const [these, those] = [normal(exchange), normal(another)]
    const lines = differing(these, those)
    if (lines.length > 0) return { at, lines }
  }
  const lines = differing(one.keys, other.keys)
  return lines.length > 0 ? { at: one.exchanges.length, lines } : undefined
}

/** @param {string[]} one @param {string[]} other @returns {string[]} */
function differing (one, other) {
  const lines = []
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    if (one[i] !== other[i]) lines.push(`- ${one[i] ?? '(nothing)'}`, `+ ${other[i] ?? '(nothing)'}`)
  }
  return lines
}

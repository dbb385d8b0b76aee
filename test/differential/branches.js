import { readdirSync, readFileSync } from 'node:fs'

/** Hash of the server in which scripts count the branches that run. */
export const COUNTS = 'branches'
const FOLDER = new URL('../../src/redis/scripts/', import.meta.url)

/**
 * The scripts, each of which counts its branches. Those of an included file count together, whatever includes it.
 * @returns {{ scripts: { name: string, lua: string }[], branches: string[] }}
 */
export function countingScripts () {
  /** @type {Map<string, { lua: string, branches: string[] }>} */
  const files = new Map()
  for (const path of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    const name = /(\w+)\.lua$/.exec(path)?.[1]
    if (name !== undefined) files.set(path, countBranches(name, readFileSync(new URL(path, FOLDER), 'utf8')))
  }
  /** @type {(path: string) => string} */
  const read = (path) => (files.get(path)?.lua ?? '')
    .replace(/^--@include (\w+)$/gm, (_, included) => read(`include/${included}.lua`))
  return {
    scripts: [...files.keys()].filter((path) => !path.includes('/'))
      .map((path) => ({ name: path.slice(0, -'.lua'.length), lua: read(path) })),
    branches: [...files.values()].flatMap(({ branches }) => branches)
  }
}

/** Words of Lua: names, keywords, strings, comments, long brackets and single characters. */
const WORD = /--\[\[[^]*?\]\]|--[^\n]*|\[\[[^]*?\]\]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\d[\w.]*|\s+|./gs

/**
 * Adds a count at the beginning of each branch: then, else, do, repeat, the body of a function, and the else that an
 * `if` does not have.
 * @param {string} name
 * @param {string} lua
 * @returns {{ lua: string, branches: string[] }}
 */
function countBranches (name, lua) {
  /** @type {string[]} */
  const branches = []
  let line = 1
  let text = ''
  const mark = (/** @type {string} */ kind) => {
    const branch = `${name}:${line} ${kind}`
    branches.push(branch)
    return ` redis.call('HINCRBY', '${COUNTS}', '${branch}', 1) `
  }
  /** What an `end` closes. @type {{ kind: string, hasElse?: boolean }[]} */
  const open = []
  /** Depth of parentheses in the head of a function; -1: none is read. */
  let head = -1
  for (const [word] of lua.matchAll(WORD)) {
    if (head < 0 && word === 'end') {
      const block = open.pop()
      if (block?.kind === 'if' && !block.hasElse) text += ` else${mark('no branch')}`
    }
    text += word
    if (word === '(' && head >= 0) head++
    if (word === ')' && head >= 0 && --head === 0) {
      head = -1
      text += mark('function')
    }
    if (word === 'function') {
      open.push({ kind: word })
      head = 0
    } else if (word === 'if') {
      open.push({ kind: word })
    } else if (word === 'do') {
      open.push({ kind: word })
      text += mark(word)
    } else if (word === 'else') {
      const block = open.at(-1)
      if (block) block.hasElse = true
      text += mark(word)
    } else if (word === 'then') {
      text += mark(word)
    } else if (word === 'repeat') {
      text += mark(word)
    }
    line += word.split('\n').length - 1
  }
  return { lua: text, branches }
}

/**
 * @param {string[]} keys the key space as `Player` shows it
 * @returns {[branch: string, count: number][]}
 */
export function countsIn (keys) {
  const counts = keys.find((line) => line.startsWith(`"${COUNTS}" hash`)) ?? ''
  return [...counts.matchAll(/"(\w+:\d+ [a-z ]+)","(\d+)"/g)].map(([, branch, count]) => [branch, Number(count)])
}

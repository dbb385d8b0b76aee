import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parse } from 'acorn'

/** Rooms in which statements are changed by machine: mistakes there break promises. */
const ROOMS = ['log/bus', 'people/workers', 'people/sessions', 'people/presence', 'ingest', 'documents']
/** Statements that only observe: every promise holds without them. */
const OBSERVES = /^(log|metrics|complain|this\.#?(log|metrics)|[\w.]*Limit|tracing|inspector)\b|\.(inc|set|observe|publish|unref|dropped)\(/

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} [scenario] whose seeds look for it; default: `default`
 * @property {string} [patch] path of a patch; else a change of one file:
 * @property {string} [file] relative to the project
 * @property {number} [from] characters that are replaced
 * @property {number} [to]
 * @property {string} [by]
 */

/** @param {string} root of the project @returns {(Mutant & { patch: string })[]} those that people wrote, by name */
export function patchMutants (root) {
  const folder = join(root, 'test/simulation/mutations')
  return readdirSync(folder).filter((file) => file.endsWith('.patch')).sort().map((file) => {
    const patch = join(folder, file)
    const [first, second] = readFileSync(patch, 'utf8').split('\n')
    const scenario = /^# scenario: (\w+)$/.exec(second)?.[1]
    return { name: first.replace(/^#\s*/, ''), patch, ...scenario && { scenario } }
  })
}

/**
 * @param {string} root of the project
 * @param {number} count
 * @param {number} seed
 * @returns {Mutant[]} negated conditions and dropped statements, drawn from all of them by their names: a change of the
 *   code draws others only where it made or removed them
 */
export function machineMutants (root, count, seed) {
  return ROOMS.flatMap((room) => filesIn(join(root, 'src', room))).sort()
    .filter((path) => !path.includes('/receipts/'))
    .flatMap((path) => sitesOf(readFileSync(path, 'utf8'), relative(root, path)))
    .map((mutant) => ({ mutant, rank: createHash('sha256').update(`${seed} ${withoutArea(mutant.name)}`).digest('hex') }))
    .sort((a, b) => a.rank < b.rank ? -1 : 1)
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

/** A folder that moves to another area keeps its draw. @param {string} name @returns {string} */
const withoutArea = (name) => name.replace(/^src\/(?:log|people|documents(?=\/\w+\/))\//, 'src/')

/** @param {string} folder @returns {string[]} */
const filesIn = (folder) => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.js') && entry.name !== 'contract.js')
  .map((entry) => join(entry.parentPath, entry.name))

/** @param {string} text @param {string} file @returns {Mutant[]} each with a name of its own */
export function sitesOf (text, file) {
  /** @type {Mutant[]} */
  const sites = []
  /** @type {Map<string, number>} */
  const seen = new Map()
  /** @param {string} what @param {number} from @param {number} to @param {string} by */
  const add = (what, from, to, by) => {
    const count = (seen.get(what) ?? 0) + 1
    seen.set(what, count)
    sites.push({ name: `${file} ${what}${count > 1 ? ` (${count})` : ''}`, file, from, to, by })
  }
  visit(parse(text, { ecmaVersion: 2024, sourceType: 'module' }), (node) => {
    const source = text.slice(node.start, node.end)
    if (node.type === 'IfStatement') {
      const { start, end } = node.test
      const condition = text.slice(start, end)
      add(`!(${short(condition)})`, start, end, `!(${condition})`)
    }
    const call = node.type === 'ExpressionStatement' && node.expression.argument?.type === 'CallExpression'
      ? node.expression.argument
      : node.expression
    if (node.type === 'ExpressionStatement' && call.type === 'CallExpression' &&
      !OBSERVES.test(source.replace(/^await /, '')) && !source.startsWith('super('))
      add(`without ${short(source)}`, node.start, node.end, ';')
  })
  return sites
}

/** @param {string} source */
const short = (source) => source.replace(/\s+/g, ' ').slice(0, 70)

/** @param {any} node @param {(node: any) => void} look */
function visit (node, look) {
  if (typeof node?.type !== 'string') return
  look(node)
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) for (const one of value) visit(one, look)
    else if (typeof value === 'object') visit(value, look)
  }
}

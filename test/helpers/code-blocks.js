import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const EXAMPLES = ['examples', 'examples/document-service', 'examples/rooms', 'examples/yjs']
const FOLDERS = ['', 'docs', 'docs/internals', 'docs/internals/decisions', 'docs/how-to', 'docs/operations', 'docs/tutorials',
  ...EXAMPLES, 'deploy', 'bench']

/** @typedef {{ file: string, line: number, language: string, code: string }} CodeBlock */

/** @returns {CodeBlock[]} every code block of every page, in order */
export function codeBlocks () {
  return pages().flatMap((file) => {
    const text = readFileSync(ROOT + file, 'utf8')
    return [...text.matchAll(/^[ \t]*```(\S*)[^\n]*\n([\s\S]*?)^[ \t]*```/gm)].map(
      ({ 1: language, 2: code, index }) => ({
        file,
        line: text.slice(0, index).split('\n').length,
        language,
        code
      })
    )
  })
}

/** @returns {string[]} Markdown pages, relative to the root */
export function pages () {
  return FOLDERS.flatMap((folder) => readdirSync(ROOT + folder).filter((name) => name.endsWith('.md'))
    .map((name) => folder === '' ? name : `${folder}/${name}`))
}

/**
 * Splits the shell commands of a block: without comments, lists of `&&` split.
 * @param {string} code
 * @returns {string[]}
 */
export function commandsOf (code) {
  return code.replaceAll('\\\n', ' ').split('\n')
    .map((line) => line.replace(/(?:^|\s)#\s.*$/, ''))
    .flatMap((line) => line.split(' && '))
    .map((command) => command.trim().replace(/\s*&$/, ''))
    .filter((command) => command !== '')
}

const AsyncFunction = /** @type {FunctionConstructor} */ ((async () => {}).constructor)

/**
 * Runs a block as the body of a function. Imports and undeclared names are provided by the caller.
 *
 * @param {string} code
 * @param {Record<string, unknown>} scope
 * @param {(specifier: string) => Promise<unknown>} load imports a module from the package's location
 * @returns {Promise<any>} an object with the block's top-level declarations
 */
export async function runBlock (code, scope, load) {
  const body = code.replaceAll(/^import (.+) from ('[^']+')$/gm, (_line, names, specifier) => {
    if (names.startsWith('* as ')) return `const ${names.slice(5)} = await load(${specifier})`
    return names.startsWith('{')
      ? `const ${names.replaceAll(' as ', ': ')} = await load(${specifier})`
      : `const { default: ${names} } = await load(${specifier})`
  })
  const declared = [...code.matchAll(/^(?:const|let|async function|function) (\w+)/gm)].map(([, name]) => name)
  return new AsyncFunction('load', ...Object.keys(scope), `${body}\nreturn { ${declared.join(', ')} }`)(
    load,
    ...Object.values(scope)
  )
}

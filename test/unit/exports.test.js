import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Folders whose exports are checked. */
const EXPORTING = ['src', 'packages/demo', 'packages/load']
/** Their users; tests do not count. */
const IMPORTING = ['cluster.js', 'src', 'packages', 'examples', 'bench', 'scripts']
/** In the comment of an export that only tests use, before the reason. */
const MARK = 'Exported for tests:'

const EXPORT = /^export (?:async )?(function\*?|const|let|class) (\w+)/
const IMPORTS = [
  /^import\s+(?:\w+,\s*)?\{([^}]*)\}\s*from\s*'((?:\.|inkcast-)[^']+)'/gm,
  /^export\s*\{([^}]*)\}\s*from\s*'(\.[^']+)'/gm
]
/** Which names of a module an expression takes is not looked at: all of them count as used. */
const NAMESPACES = [/^import\s+\*\s+as\s+\w+\s+from\s*'(\.[^']+)'/gm, /\bimport\(\s*'((?:\.|inkcast-)[^']+)'\s*\)/g]
/** Types are in comments: a class or a constant has to be exported for them. */
const COMMENTS = /\/\*\*[\s\S]*?\*\//g
const TYPE = /\bimport\('(\.[^']+)'\)\.(\w+)/g

/** The package's own export. */
const PUBLIC = 'src/gateway/extensions/extension.js'

/** @param {string[]} places files and folders @returns {string[]} JavaScript files */
const filesIn = (places) =>
  places.flatMap((place) =>
    place.endsWith('.js')
      ? [place]
      : readdirSync(path.join(ROOT, place), { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.js') && !file.includes('node_modules'))
          .map((file) => path.join(place, file))
  )

/**
 * @param {Map<string, string>} sources by path
 * @returns {Set<string>} `<path>#<name>` of what is imported, `<path>#*` where everything is, `<path>#type <name>` of
 *   types
 */
export function importedNames (sources) {
  /** @type {Set<string>} */
  const used = new Set()
  for (const [file, text] of sources) {
    const source = text.replace(COMMENTS, '')
    const target = (/** @type {string} */ specifier) => specifier.startsWith('.')
      ? path.join(path.dirname(file), specifier)
      : specifier.replace(/^inkcast-(demo|load)/, 'packages/$1').replace(/^packages\/\w+$/, '$&/index.js')
    for (const [, specifier, name] of text.matchAll(TYPE)) used.add(`${target(specifier)}#type ${name}`)
    for (const pattern of IMPORTS)
      for (const [, names, specifier] of source.matchAll(pattern))
        for (const name of names.split(',')) used.add(`${target(specifier)}#${name.trim().split(/\s+as\s+|\s*:/)[0]}`)
    for (const pattern of NAMESPACES)
      for (const [, specifier] of source.matchAll(pattern)) used.add(`${target(specifier)}#*`)
  }
  return used
}

/**
 * @param {string} source
 * @returns {{ name: string, isValue: boolean, marked: boolean }[]}
 */
export function exportsOf (source) {
  const lines = source.split('\n')
  return lines.flatMap((line, i) => {
    const [, kind, name] = EXPORT.exec(line) ?? []
    if (name === undefined) return []
    let first = i
    while (first > 0 && /^(\/\*\*| \*|\/\/)/.test(lines[first - 1])) first--
    return [{ name, isValue: !kind.startsWith('function'), marked: lines.slice(first, i).join('').replace(/ \* ?/g, ' ').includes(MARK) }]
  })
}

test('each export of src is used outside its file, and not by tests only unless its comment gives the reason', () => {
  const read = (/** @type {string[]} */ places) =>
    new Map(filesIn(places).map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]))
  const used = importedNames(read(IMPORTING))
  const unused = []
  for (const [file, source] of read(EXPORTING)) {
    if (file === PUBLIC || used.has(`${file}#*`)) continue
    for (const { name, isValue, marked } of exportsOf(source)) {
      if (used.has(`${file}#${name}`) || (isValue && used.has(`${file}#type ${name}`))) {
        if (marked) unused.push(`${file}: ${name} is used, its mark "${MARK}" is out of date`)
      } else if (!marked) {
        unused.push(`${file}: ${name}`)
      }
    }
  }
  assert.deepEqual(unused, [])
})

test('the check finds what is imported, in each form of import', () => {
  const used = importedNames(new Map([
    ['src/a.js', [
      'import { one, two as three } from \'./b.js\'',
      'import * as all from \'../c.js\'',
      'const { four } = await import(\'./d.js\')',
      '/** @type {import(\'./e.js\').Five} */'
    ].join('\n')]
  ]))
  assert.deepEqual([...used].sort(), ['c.js#*', 'src/b.js#one', 'src/b.js#two', 'src/d.js#*', 'src/e.js#type Five'])
  assert.deepEqual(
    exportsOf('/**\n * A bound. Exported\n * for tests: a bound\n */\nexport const one = 1\nexport function two () {}\nconst three = 3'),
    [{ name: 'one', isValue: true, marked: true }, { name: 'two', isValue: false, marked: false }]
  )
})

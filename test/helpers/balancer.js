import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeDirectory, removeDirectory } from '../services/directory.js'
import { spawnGuarded } from '../services/guard.js'
import { waitUntil } from '../services/wait.js'

const run = promisify(execFile)
const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url))
const TLS = fileURLToPath(new URL('tls/', import.meta.url))

/** A self-signed certificate for localhost and 127.0.0.1. */
export const certificate = {
  certFile: join(TLS, 'cert.pem'),
  keyFile: join(TLS, 'key.pem'),
  ca: readFileSync(join(TLS, 'cert.pem'))
}

/** Without root, the account and the directories of the distribution are not available. */
const isRoot = process.getuid?.() === 0

/**
 * A configuration of deploy/ in which only addresses and paths are replaced by the test's. Everything else stays as
 * users copy it.
 * @param {string} file below deploy/
 * @param {Record<string, string>} replacements
 * @returns {string}
 * @throws {Error} if a text to replace is not in the file: the file has changed
 */
function configuration (file, replacements) {
  let text = readFileSync(join(DEPLOY, file), 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${file} has no "${from}" that could be replaced`)
    text = text.replaceAll(from, to)
  }
  return text
}

/**
 * @typedef {object} Balancer
 * @property {number} pid
 * @property {string} text the running configuration
 * @property {() => string} output the last lines of its log
 */

/**
 * HAProxy with a configuration of deploy/, stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {string} options.file below deploy/
 * @param {Record<string, string>} options.replacements addresses
 * @param {() => Promise<unknown>} options.answers rejects until the balancer responds
 * @param {string[]} [options.command] prefix of the command, to run it on a host
 * @returns {Promise<Balancer>}
 */
export async function startHaproxy (t, { file, replacements, answers, command = [] }) {
  const directory = makeDirectory('haproxy')
  t.after(() => removeDirectory(directory))
  const pem = join(directory, 'inkcast.pem')
  writeFileSync(pem, Buffer.concat([certificate.ca, readFileSync(certificate.keyFile)]), { mode: 0o600 })
  const text = configuration(file, {
    ...replacements,
    ...(file.includes('terminate') ? { '/etc/haproxy/inkcast.pem': pem } : {}),
    ...(isRoot ? {} : { '    user haproxy\n': '', '    group haproxy\n': '' })
  })
  const path = join(directory, 'haproxy.cfg')
  writeFileSync(path, text)
  await check('haproxy', ['-c', '-f', path])
  return start(t, { name: 'HAProxy', directory, text, answers, command: [...command, 'haproxy', '-db', '-f', path] })
}

/**
 * nginx with a configuration of deploy/, stopped after the test.
 *
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {string} options.file below deploy/
 * @param {Record<string, string>} options.replacements addresses
 * @param {() => Promise<unknown>} options.answers rejects until the balancer responds
 * @returns {Promise<Balancer>}
 */
export async function startNginx (t, { file, replacements, answers }) {
  const directory = makeDirectory('nginx')
  t.after(() => removeDirectory(directory))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join(' ')
  const text = configuration(file, {
    ...replacements,
    ...(file.includes('terminate')
      ? { '/etc/nginx/inkcast.crt': certificate.certFile, '/etc/nginx/inkcast.key': certificate.keyFile }
      : {}),
    ...(isRoot || !file.includes('terminate') ? {} : { 'http {': `http { ${temporary} access_log off;` })
  })
  const path = join(directory, 'nginx.conf')
  writeFileSync(path, text)
  const args = ['-e', 'stderr', '-c', path]
  await check('nginx', ['-t', ...args, '-g', `pid ${join(directory, 'pid')};`])
  return start(t, {
    name: 'nginx',
    directory,
    text,
    answers,
    command: ['nginx', ...args, '-g', `daemon off; error_log stderr; pid ${join(directory, 'pid')};`]
  })
}

/**
 * The program's own check of the configuration; warnings are errors.
 * @param {string} program
 * @param {string[]} args
 */
async function check (program, args) {
  const { stdout, stderr } = await run(program, args)
  const warnings = (stdout + stderr).split('\n').filter((line) => /warn|alert|emerg/i.test(line))
  // ignore nginx's warning about the "user" directive without root
  const ours = warnings.filter((line) => !/"user" directive makes sense only/.test(line))
  if (ours.length > 0) throw new Error(`${program} warns:\n${ours.join('\n')}`)
}

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {{ name: string, directory: string, text: string, answers: () => Promise<unknown>, command: string[] }}
 *   options
 * @returns {Promise<Balancer>}
 */
async function start (t, { name, directory, text, answers, command: [program, ...args] }) {
  const balancer = spawnGuarded(program, args, { log: join(directory, 'log'), directory })
  t.after(() => balancer.stop(2000))
  await waitUntil(name, answers, { processes: [balancer] })
  return { pid: balancer.pid, text, output: () => balancer.lastOutput() }
}

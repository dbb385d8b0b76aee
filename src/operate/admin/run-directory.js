import { chmod, lstat, mkdir, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isAlive } from '../../base/process/alive.js'
import { TICKET_FILE } from '../../config/tls/ticket-keys.js'

/**
 * The run directory, through which the processes of one machine find each other. Each has a unix socket
 * `<role>-<number>.<pid>.sock` there, and a gateway worker a second one, `<role>-<number>.<pid>.peer`. A process that
 * can open them can read and take over sessions, so only this user has access to the directory.
 */

/** Socket of the demo in the launcher. Not `.sock`: it is no process that is asked for its status. */
const DEMO_SOCKET = 'demo.socket'
/** Socket of the built-in store: the same for each of its processes, because the others connect to it again. */
const STORE_SOCKET = 'store.socket'
/** Files that are of no use without a process. */
const LEFT_OVER = [TICKET_FILE, DEMO_SOCKET, STORE_SOCKET]
/** Maximum length of a socket's path, bytes: 108 on Linux and 104 elsewhere, including a zero at the end. */
const LONGEST_PATH = 103
/** inkcast-<pid of its creator>-<random> */
const MADE = /^inkcast-(\d+)-\w{6}$/

/** @param {string} directory @param {string} role @param {number} slot @returns {string} */
export const privateSocket = (directory, role, slot) => path.join(directory, `${role}-${slot}.${process.pid}.sock`)

/**
 * The listener of a worker for requests of its sessions that reached other workers
 * (src/transport/peers/session-listener.js). Not
 * `.sock`: bytes of clients come here, and no command is carried out.
 * @param {string} directory @param {string} role @param {number} slot @param {number} pid of the worker
 * @returns {string}
 */
export const sessionSocket = (directory, role, slot, pid) => path.join(directory, `${role}-${slot}.${pid}.peer`)

/** @param {string} directory @returns {string} */
export const demoSocket = (directory) => path.join(directory, DEMO_SOCKET)

/** @param {string} directory @returns {string} */
export const storeSocket = (directory) => path.join(directory, STORE_SOCKET)

/** @param {string} socket `….sock` of a process @returns {string} its second one, which only a gateway worker has */
export const peerOf = (socket) => socket.replace(/\.sock$/, '.peer')

/**
 * Creates a new run directory, and removes those of killed processes.
 * @param {string} [parent] default: the system's directory for temporary files
 * @returns {Promise<string>}
 */
export async function makeRunDirectory (parent = tmpdir()) {
  for (const name of await readdir(parent)) {
    const maker = MADE.exec(name)?.[1]
    // ignore errors: it may belong to another user, or be removed already
    if (maker !== undefined && !isAlive(Number(maker))) await removeAbandoned(path.join(parent, name)).catch(() => {})
  }
  return mkdtemp(path.join(parent, `inkcast-${process.pid}-`))
}

/**
 * Removes a directory of this user without listening processes: processes outlive a killed launcher for a moment, and
 * a pid of another container is another process. Checks the owner, because root could remove any directory.
 * @param {string} directory
 */
async function removeAbandoned (directory) {
  if (!await isOurs(directory)) return
  const listening = await Promise.all((await readdir(directory)).map((file) => mayListen(path.join(directory, file))))
  if (!listening.includes(true)) await rm(directory, { recursive: true, force: true })
}

/** @param {string} directory @returns {Promise<boolean>} */
const isOurs = async (directory) => isOwn(await lstat(directory))

/**
 * @param {import('node:fs').Stats} stats
 * @returns {boolean} whether it is a directory of the user that runs this process
 */
const isOwn = (stats) => stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid())

/** @param {string} file @returns {Promise<boolean>} */
function mayListen (file) {
  return new Promise((resolve) => {
    const socket = net.connect(file)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => resolve(/** @type {NodeJS.ErrnoException} */ (error).code !== 'ECONNREFUSED'))
  })
}

/**
 * Makes it private, and removes sockets of killed processes.
 * @param {string} directory
 * @throws {Error} it belongs to another user, or its path is too long
 */
export async function openRunDirectory (directory) {
  if (Buffer.byteLength(path.join(directory, 'gateway-1023.4194304.sock')) > LONGEST_PATH) {
    throw new Error(
      `the path of the run directory ${directory} is too long for a unix socket: choose a shorter TMPDIR or PM2_HOME`
    )
  }
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const stats = await lstat(directory)
  if (!isOwn(stats)) {
    throw new Error(`the run directory ${directory} belongs to another user`)
  }
  if ((stats.mode & 0o077) !== 0) await chmod(directory, 0o700)
  await removeStaleSockets(directory)
}

/** @param {string} directory */
async function removeStaleSockets (directory) {
  for (const file of await readdir(directory)) if (isStale(file)) await rm(path.join(directory, file), { force: true })
}

/** @param {string} file name of a socket @returns {boolean} whether its process has gone */
export function isStale (file) {
  const pid = /\.(\d+)\.(?:sock|peer)$/.exec(file)?.[1]
  return pid !== undefined && !isAlive(Number(pid))
}

/**
 * Removes it if no process uses it: its creator has ended without removing it.
 * @param {string} directory
 */
export async function leaveRunDirectory (directory) {
  try {
    await removeStaleSockets(directory)
    const left = await readdir(directory)
    // the secret of session tickets goes with the last process
    if (left.every((file) => LEFT_OVER.includes(file)))
      for (const file of left) await rm(path.join(directory, file), { force: true })
    await rmdir(directory)
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code !== 'ENOTEMPTY' && code !== 'ENOENT') throw error
  }
}

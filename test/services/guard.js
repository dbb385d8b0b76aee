/**
 * Child processes that never outlive the process that started them: not after a normal exit without stop(), not after
 * SIGINT, not after SIGKILL.
 *
 * A small shell starts a watcher and then becomes the command (`exec`, so the pid, the signals and the exit status are
 * the command's own). The watcher blocks on a pipe whose other end only this process holds: when this process ends,
 * however that happens, the kernel closes the pipe, and the watcher kills the command with its children and removes its
 * directory. No handler is involved that a crash could skip.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

// $1 directory to remove (may be empty), $2 command for further cleanup (words without spaces; may be empty), then the
// command. The group is killed last because the watcher is part of it. While the watcher lives, its group's number,
// which is the command's pid, can't be given to another process, so the kill can't hit a stranger.
const SHELL = `
dir=$1; cleanup=$2; shift 2
(
  trap '' INT TERM HUP
  if read -r _ <&3; then exit 0; fi
  kill -s KILL $$
  $cleanup
  for _ in 1 2 3 4 5; do
    [ -z "$dir" ] && break
    rm -rf -- "$dir" && break
    sleep 0.2
  done
  kill -s KILL -- -$$
) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&-
`

/** @typedef {{ code: number | null, signal: NodeJS.Signals | null }} ExitStatus */

/**
 * @typedef {object} GuardedProcess
 * @property {number} pid also the number of its process group
 * @property {() => boolean} running
 * @property {Promise<ExitStatus>} exited never rejects; does not keep this process running
 * @property {() => Promise<ExitStatus>} finished the same, but keeps this process running until then
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill sends one signal (default SIGKILL) and, if that signal
 *   ends processes, waits for the end; does nothing if the process has ended already
 * @property {(graceMs?: number) => Promise<void>} stop SIGTERM, then SIGKILL after graceMs (default 10,000); its
 *   children are killed too
 * @property {() => Promise<void>} release lets it outlive this process, without a watcher
 * @property {() => string} lastOutput the last lines of the log file; empty when there is none
 */

const ENDING = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT', 'SIGHUP'])

/**
 * Starts a command under guard, in its own session: Ctrl-C at the terminal reaches this process but not the command, so
 * this process decides the order. A command that does not exist ends with code 127 and a line in its log.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {object} [options]
 * @param {string} [options.log] file for its output; default: this process's output
 * @param {string} [options.directory] removed when this process ends without having stopped the command
 * @param {string} [options.cleanup] a command (words without spaces), run when this process ends without having stopped
 *   it
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env] default: this process's environment
 * @returns {GuardedProcess}
 * @throws when there is no `sh`, or no more processes or files can be opened
 */
export function spawnGuarded (command, args, { log, directory = '', cleanup = '', cwd, env } = {}) {
  const output = log === undefined ? 'inherit' : openSync(log, 'a')
  const child = spawn('sh', ['-c', SHELL, 'sh', directory, cleanup, command, ...args],
    { cwd, env, detached: true, stdio: ['ignore', output, output, 'pipe'] })
  if (typeof output === 'number') closeSync(output)
  const { pid } = child
  if (pid === undefined) {
    child.on('error', () => {})
    throw new Error(`cannot start sh for ${command}`)
  }
  const lifeline = /** @type {import('node:net').Socket} */ (child.stdio[3])
  lifeline.on('error', () => {}) // the watcher was killed together with the group
  // a test that forgets to stop its service must still end; the watcher cleans up
  child.unref()
  lifeline.unref()

  let running = true
  /** @type {Promise<ExitStatus>} */
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      running = false
      killGroup(pid) // its children, and the watcher, which keeps the group's number valid until here
      lifeline.destroy()
      resolve({ code, signal })
    })
  })

  /** @type {GuardedProcess['kill']} */
  const kill = async (signal = 'SIGKILL') => {
    if (!running) return
    child.ref()
    child.kill(signal)
    if (ENDING.has(signal)) await exited
    else child.unref()
  }

  return {
    pid,
    exited,
    finished: () => {
      if (running) child.ref()
      return exited
    },
    running: () => running,
    kill,
    stop: async (graceMs = 10_000) => {
      if (!running) return
      child.ref()
      child.kill('SIGTERM')
      child.kill('SIGCONT') // a suspended process would not handle SIGTERM
      const patience = new AbortController()
      await Promise.race([exited, delay(graceMs, undefined, { signal: patience.signal }).catch(() => {})])
      patience.abort()
      await kill('SIGKILL')
    },
    release: () => new Promise((resolve) => lifeline.end('released\n', () => resolve())),
    lastOutput: () => (log === undefined ? '' : lastLines(log))
  }
}

/** @param {number} pid */
function killGroup (pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // no process is left
  }
}

/** @param {string} file */
function lastLines (file) {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15).join('\n')
  } catch {
    return ''
  }
}

import { usageOf } from '../../bench/measure/processes.js'

/** Sampling interval, ms. */
const LOOK = 200

/** Resident memory of processes during an attack. */
export class MemoryWatch {
  #timer = setInterval(() => this.#look(), LOOK)
  #processes

  /** @param {{ pid: number, role: string }[]} processes */
  constructor (processes) {
    this.#processes = processes.map(({ pid, role }) => {
      const { residentKb } = usageOf(pid)
      return { pid, role, before: residentKb, most: residentKb }
    })
  }

  #look () {
    for (const each of this.#processes) {
      try {
        each.most = Math.max(each.most, usageOf(each.pid).residentKb)
      } catch {
        /* it has ended, which is reported after the attack */
      }
    }
  }

  stop () { clearInterval(this.#timer) }

  /** @returns {{ pid: number, role: string, before: number, most: number }[]} MB */
  all () {
    return this.#processes.map(({ before, most, ...rest }) => (
      { ...rest, before: Math.round(before / 1024), most: Math.round(most / 1024) }
    ))
  }

  /** @param {number} pid @returns {{ before: number, most: number }} MB */
  of (pid) { return this.all().find((each) => each.pid === pid) ?? { before: NaN, most: NaN } }
}

import { launcherControl } from './control/answers.js'
import { Control } from './control/control.js'
import { startLauncherControl } from './control/launcher.js'
import { openDocuments } from './documents/open.js'
import { createDemo } from './server.js'

/**
 * The record that inkcast hands over when it loads the demo: an installed package cannot import files of another one.
 * @typedef {typeof import('../../src/operate/roles/demo-parts.js')} Inkcast
 * @typedef {Pick<import('../../src/observe/services.js').Services, 'log' | 'clock' | 'random'>} Services
 * @typedef {import('../../src/config/load.js').Config} Config
 * @typedef {ReturnType<typeof import('../../src/base/process/lifecycle.js').createLifecycle>} Lifecycle
 */

/** The demo page of inkcast: in development only. */
export class Demo {
  #inkcast
  #services

  /** @param {Inkcast} inkcast @param {Services} services */
  constructor (inkcast, services) {
    this.#inkcast = inkcast
    this.#services = services
  }

  /**
   * In the process that serves the page.
   * @param {object} parts
   * @param {Config} parts.config
   * @param {import('../../src/config/load.js').LauncherContext} parts.launcher
   * @param {{ gateway: () => number, api: () => number }} [parts.ports] as they are bound, of embedded mode: this
   *   process keeps the documents, and controls the demo
   * @param {string} parts.directory of the launcher's sockets
   * @param {import('http').RequestListener} [parts.inspect] the feed of the inspector
   * @param {Lifecycle} parts.lifecycle
   * @returns {Promise<{ receiveFrom: import('./documents/open.js').DemoDocuments['receiveFrom'],
   *   handler: import('http').RequestListener }>} receiveFrom: the uplink without the messages of the page's documents;
   *   handler: serves the page
   */
  async open ({ config, launcher, ports, directory, inspect, lifecycle }) {
    const inkcast = this.#inkcast
    const { load, receiveFrom } = await openDocuments(inkcast, this.#services, {
      config, ports, directory: launcher.relaysHandles ? directory : undefined, lifecycle
    })
    const control = ports === undefined
      ? launcherControl(inkcast, launcher)
      : (await lifecycle.start(
          'demo control', new Control(inkcast, this.#services, { config, ports, reason: 'embedded' })
        )).ask
    const handler = createDemo(inkcast, { config, loadDocument: load, control, inspect, log: this.#services.log })
    return { receiveFrom, handler }
  }

  /**
   * In the launcher: the control of the demo, and its documents, for the pages that gateway workers serve.
   * @param {Parameters<typeof startLauncherControl>[2]} parts
   */
  startControl (parts) { return startLauncherControl(this.#inkcast, this.#services, parts) }
}

/**
 * The systems, in the order of their runs.
 */
import { startBaseline, startBaselineWithString } from '../systems/baseline.js'
import { noCFloor, startCFloor, startLibrariesFloor, startNodeFloor } from '../systems/floor.js'
import { startInkcast, startInkcastForMqtt, startInkcastForMqttQos0, startInkcastForPlain } from '../systems/inkcast.js'

/** @typedef {'connect' | 'burst' | 'single' | 'steady' | 'idle' | 'members' | 'documents' | 'memory'} PhaseName */

/** Phases to choose from; each of them opens connections. @type {PhaseName[]} */
export const PHASES = ['connect', 'burst', 'single', 'steady', 'idle', 'members', 'documents', 'memory']

/** @type {PhaseName[]} */
const DEVICE_PHASES = ['connect', 'burst', 'single', 'steady', 'idle', 'memory']

/**
 * @typedef {object} SystemUnderTest
 * @property {import('../systems/system.js').StartSystem} start
 * @property {'websocket' | 'bare' | import('../systems/system.js').DeviceClients} clients
 * @property {boolean} services whether it gets Redis and Kafka
 * @property {PhaseName[]} phases
 * @property {() => string | null} [missing] reason why it can't run here
 */

/** @type {Record<string, SystemUnderTest>} */
export const SYSTEMS = {
  inkcast: { start: startInkcast, clients: 'websocket', services: true, phases: PHASES },
  'inkcast-ws': {
    start: startInkcastForPlain,
    clients: 'plain',
    services: true,
    phases: DEVICE_PHASES
  },
  'inkcast-mqtt': {
    start: startInkcastForMqtt,
    clients: 'mqtt',
    services: true,
    phases: DEVICE_PHASES
  },
  'inkcast-mqtt-qos0': {
    start: startInkcastForMqttQos0,
    clients: 'mqtt-qos0',
    services: true,
    phases: ['burst', 'single', 'steady']
  },
  baseline: { start: startBaseline, clients: 'websocket', services: true, phases: PHASES },
  'baseline-string': { start: startBaselineWithString, clients: 'websocket', services: true, phases: ['connect'] },
  'floor-libraries': {
    start: startLibrariesFloor,
    clients: 'bare',
    services: true,
    phases: ['burst', 'single', 'steady', 'members']
  },
  'floor-node': {
    start: startNodeFloor,
    clients: 'bare',
    services: false,
    phases: ['burst', 'single', 'steady', 'members', 'memory']
  },
  'floor-c': {
    start: startCFloor,
    clients: 'bare',
    services: false,
    phases: ['burst', 'single', 'steady', 'members'],
    missing: noCFloor
  }
}

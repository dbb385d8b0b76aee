import { admin, api, auth } from './access-settings.js'
import { delivery, documents, heartbeat, history, presence } from './document-settings.js'
import { extensions } from './extension-settings.js'
import { gateway } from './gateway-settings.js'
import { limits } from './limit-settings.js'
import { kafka, redis } from './service-settings.js'
import { uplink } from './uplink-settings.js'

/** All blocks of settings, by their name in the config object, in the order of docs/configuration.md. */
export const BLOCKS = {
  gateway, limits, delivery, heartbeat, history, documents, presence, auth, api, admin, redis, kafka, uplink, extensions
}

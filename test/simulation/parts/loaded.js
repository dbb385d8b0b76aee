/**
 * Modules that inkcast and its client load when they first need them: from files, and how long that takes no seed
 * decides. So they are loaded before a world begins.
 */
import '../../../client/common/known-options.js'
import '../../../client/connection/msgpack.js'
import '../../../client/document/begin.js'
import '../../../client/outbox/index.js'
import '../../../client/presence/participation.js'
import '../../../src/gateway/mqtt/mqtt-door.js'
import '../../../src/gateway/plain/plain-door.js'
import '../../../src/gateway/takeovers.js'
import '../../../src/people/devices/redis-devices.js'
import '../../../src/services/api/grpc/server.js'

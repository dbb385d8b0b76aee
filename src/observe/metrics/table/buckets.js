/** Upper bounds of the buckets of durations, s. */
export const SECONDS = [
  0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096, 16.384
]

/** Upper bounds of the buckets of sizes, bytes; one network packet carries 1,400. */
export const BYTES = [128, 256, 512, 1024, 1400, 4096, 16384, 65536, 262144, 1048576]

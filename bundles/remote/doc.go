// Package remote fetches built bundles from an HTTP server, a bucket, an OCI registry or
// a file, and pushes them to registries. The bundles it returns have been read whole
// and, where there are keys, verified. It does not know what a bundle means or whether
// it is served.
//
// # Design
//
// Requests use OPA's HTTP client, which supports the credentials of cloud providers and
// has a configuration that operators know. OPA's downloader is not used: it parses a
// bundle before the archive can be checked, and accepts more kinds of files than a
// bundle of this project may have. The bytes go from the connection into the strict
// reader and not into a file, so no directory must be cleaned and no disk is filled.
//
// The tag of a bundle is stored only after the bundle has been delivered. After a
// failure at any step the bundle is fetched again.
package remote

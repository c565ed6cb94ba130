// Package remote brings built bundles here, from an HTTP server, a bucket, a registry
// of OCI artifacts or a file, and pushes them to registries. What it hands on has been
// read whole and, where there are keys, verified; what a bundle means and whether it is
// served it does not know.
//
// # Design
//
// Requests are made by OPA's client, which knows the credentials of clouds and is
// configured as everybody knows it, but not by OPA's downloader: that one makes a
// bundle of what it loads before anybody can look at the archive, and takes more kinds
// of files than a bundle of ours may have. Here the bytes go from the connection into
// the strict reader, and nothing of them is kept in a file, so that there is no folder
// to clean and no disk to fill.
//
// What a source said last is remembered only when the bundle has been taken. Whatever
// fails, at any step, is asked for again.
package remote

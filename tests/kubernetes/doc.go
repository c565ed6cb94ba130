// Package kubernetes holds writ against Kubernetes' own code: its RBAC
// authorizer decides what writ decides, its validation refuses what writ
// refuses. It drives the built command and knows nothing of writ's insides.
//
// It also exports the roles and bindings that Kubernetes creates in every
// cluster, as documents.
package kubernetes

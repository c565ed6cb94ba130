//go:build tools

package e2e

// The programs that the tests run are built from this module.
import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)

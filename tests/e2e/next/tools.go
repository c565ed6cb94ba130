//go:build tools

// Package next has the program of the version of Kubernetes after that of package e2e.
package next

// The program that TestStaticAdmission runs is built from this module.
import _ "k8s.io/kubernetes/cmd/kube-apiserver"

// Package vocabulary has the words that Kubernetes and Origin know: verbs, API groups,
// resources, subresources, capabilities and the keys of a request. Decoders of all
// families ask it about words that match nothing, and for the word that was meant. It
// knows neither documents nor diagnostics of a family.
package vocabulary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// The lists must not be modified.
var (
	// Verbs are the verbs that Kubernetes asks for.
	Verbs = []string{
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "impersonate",
		"bind", "escalate", "approve", "sign", "attest", "use", "redirect",
	}
	// URLVerbs are those of requests for paths, and Verbs.
	URLVerbs = append([]string{"post", "put", "head", "options"}, Verbs...)
	// AnyVerbs are the verbs of Origin and Kubernetes.
	AnyVerbs = []string{
		"exec", "watch", "list", "get", "create", "update", "delete", "proxy", "permission-request",
		"patch", "deletecollection", "impersonate", "bind", "escalate", "approve", "sign", "attest",
		"use", "redirect",
	}
	// Capabilities are the capabilities of Linux without CAP_, and ALL.
	Capabilities = []string{
		"ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE",
		"DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN",
		"MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID",
		"SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT",
		"SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "WAKE_ALARM",
	}
	// RequestKeys are the keys of a request at the access point.
	RequestKeys = append(tables.ScopeKeys("user", "groups", "verb", "apiGroup", "resource", "subresource", "namespace", "name", "path"),
		"fields", "labels", "namespaceLabels", "extra", "pod", "podError", "attributes")
)

// Near returns the first of the words that differs from a text by at most one edit,
// letters compared without regard to case; "" if no word does.
func Near(text string, words []string) string {
	near := ""
	for _, word := range words {
		switch difference := len(word) - len(text); {
		case difference < -1 || difference > 1 || !diag.AreNear(text, word):
		case strings.EqualFold(text, word):
			return word
		default:
			near = cmp.Or(near, word)
		}
	}
	return near
}

// NearResource returns the resource whose singular the word is, or that is one edit away
// from the word; "" if no resource is near.
func NearResource(word string, resources []string) string {
	if plural := tables.Plural(strings.ToLower(word)); slices.Contains(resources, plural) {
		return plural
	}
	return Near(word, resources)
}

// NearSubresource is Near for the subresources of Kubernetes.
func NearSubresource(word string) string { return Near(word, subresources) }

// NearKind returns the resource that a kind of Origin is one edit away from, in either
// number; "" if the kind is known or no resource is near. The kind is in lower case.
func NearKind(kind string) string {
	known := Resources([]string{"*"})
	if slices.ContainsFunc(tables.KindSynonyms(kind), func(word string) bool { return slices.Contains(known, word) }) {
		return ""
	}
	return cmp.Or(Near(tables.Plural(kind), known), Near(kind, known))
}

// NearGroup returns the group of Kubernetes that a misspelt one stands for, and whether
// there is one: a name of the core group, a group with its version, the first word of a
// group, or a group one edit away.
func NearGroup(word string) (group string, found bool) {
	folded, _, _ := strings.Cut(strings.ToLower(word), "/")
	if slices.Contains([]string{"core", "v1", "legacy", "api"}, folded) {
		return "", true
	}
	if IsGroup(folded) {
		return folded, true
	}
	near := ""
	for _, of := range served {
		switch {
		case strings.HasPrefix(of.group, folded+"."):
			return of.group, true
		case of.group != "" && Near(folded, []string{of.group}) != "":
			near = cmp.Or(near, of.group)
		}
	}
	return near, near != ""
}

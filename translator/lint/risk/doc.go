// Package risk finds dangerous grants: which subjects hold a power that leads to more than
// it seems to, through which binding, and how much that matters. The statements of one
// revision come in; findings go out. The package must not know where documents come from
// or how findings are shown. Nothing that decides imports it.
//
// # Design
//
// A rule is a set of requests, and a binding is reported if a request of the rule fits one
// of its statements and no denial. The severity follows from the requests that remain: in
// a namespace that no document names, in kube-system, in one namespace, or for some names.
// A denial therefore lowers or removes a finding by what it takes away, without a second
// way to compare rules. Denials that read a pod, CEL or an extension do not count, because
// they do not hold for every request.
package risk

// Package session is the family of sessions: BreakglassSessions, which lend a group to a
// user on one cluster for a time, and DebugSessions, which let users into pods. It decodes
// their documents, follows their references to escalations and deny policies, and lowers
// them to rows. It must not know other families: what sessions refer to are names.
//
// # Design
//
//   - Sessions are rows of data, keyed by cluster and user, with nanoseconds as bounds. A
//     session that begins or ends compiles nothing and changes no revision. The alternative,
//     a Rego file for each as for deny policies, would compile for each approval.
//   - A decision reads the clock once. A DebugSession that covers the request decides before
//     all denials. Then deny policies are in scope as for the request, or as for it with the
//     name of a valid session and of its owner; the group of a session counts for bindings
//     alone.
//   - The engine finds the rows in the tables and sends the valid ones to OPA, and Rego finds
//     the same in the data. A request whose user has no session pays one look-up.
//   - A cached decision is valid between the bounds of the sessions of its user on its cluster
//     and of the DebugSessions that name the user and the pod.
//   - In an export of a cluster mistakes are warnings, and such a session is never valid.
package session

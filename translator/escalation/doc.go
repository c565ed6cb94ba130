// Package escalation is the family of clusters and identity providers beside which
// escalations are requested: it decodes ClusterConfigs and IdentityProviders, and lowers
// them, with the escalations of package deny, to a table of who may request and approve.
// Decisions read the tenants of clusters alone.
//
// # Design
//
// Both kinds belong to a controller and have many fields that are not policy. Fields that
// look like a slip of one that is read are mistakes, and all others are ignored: the
// alternative, to know all fields, would refuse documents of the next version of the
// controller for what no decision depends on.
package escalation

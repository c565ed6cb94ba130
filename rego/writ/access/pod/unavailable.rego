package writ.access.pod

# METADATA
# description: |
#   Whether the pod cannot be judged: it could not be fetched, was not sent, is
#   another one than the request names, or has a shape that cannot be read.
default unavailable := false

unavailable if input.podError != ""

unavailable if not is_object(input.pod)

unavailable if count(_unreadable) > 0

# A hollow object would score zero: a real pod has a container.
unavailable if not _has_containers

unavailable if {
	not input.pod.metadata.namespace in {"", null}
	input.pod.metadata.namespace != input.namespace
}

unavailable if {
	input.name != ""
	not input.pod.metadata.name in {"", null}
	input.pod.metadata.name != input.name
}

_has_containers if {
	is_array(input.pod.spec.containers)
	count(input.pod.spec.containers) > 0
}

# Values of another type than Kubernetes gives them. A pod that has one cannot be
# read: taken for absent, it would be a way to score lower.

_unreadable contains "metadata" if not _is(input.pod, "metadata", "object")

_unreadable contains "spec" if not is_object(input.pod.spec)

_unreadable contains sprintf("metadata.%s", [key]) if {
	some key in ["name", "namespace"]
	not _is(_object(input.pod, "metadata"), key, "string")
}

_unreadable contains key if {
	some key in ["hostNetwork", "hostPID", "hostIPC"]
	not _is(_spec, key, "boolean")
}

_unreadable contains key if {
	some key in ["volumes", "containers", "initContainers", "ephemeralContainers"]
	not _is(_spec, key, "array")
}

_unreadable contains "securityContext" if not _readable_security(_spec)

_unreadable contains "a container" if {
	some container in _containers
	not _readable_container(container)
}

_unreadable contains "a volume" if {
	some volume in _volumes
	not _readable_volume(volume)
}

_readable_container(container) if {
	is_object(container)
	_readable_security(container)
	security := _object(container, "securityContext")
	_is(security, "privileged", "boolean")
	_is(security, "capabilities", "object")
	_is(_object(security, "capabilities"), "add", "array")
	every name in _array(_object(security, "capabilities"), "add") {
		is_string(name)
	}
	_is(container, "volumeMounts", "array")
	every mount in _array(container, "volumeMounts") {
		is_string(mount.name)
		_is(mount, "readOnly", "boolean")
	}
}

_readable_security(holder) if {
	_is(holder, "securityContext", "object")
	_is_integer(_object(holder, "securityContext"), "runAsUser")
}

# Names join mounts with volumes: without one a writable mount would look like
# none.
_readable_volume(volume) if {
	is_string(volume.name)
	_is(volume, "hostPath", "object")
}

_is(holder, key, type) if type_name(holder[key]) == type

_is(holder, key, _) if _nothing(holder, key)

_is_integer(holder, key) if {
	is_number(holder[key])
	floor(holder[key]) == holder[key]
}

_is_integer(holder, key) if _nothing(holder, key)

_nothing(holder, key) if {
	is_object(holder)
	object.get(holder, key, null) == null
}

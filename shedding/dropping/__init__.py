"""Which windows are left out under overload, so that every delivered one is exact (WinDrop)?"""
